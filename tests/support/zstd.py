"""Files compressed by Zstandard, with a checksum: by Python's module, its back-port, or the package zstandard."""

import importlib


def _compressor():
    for name in ("compression.zstd", "backports.zstd"):
        try:
            own = importlib.import_module(name)
        except ImportError:
            continue
        return lambda data: own.compress(data, options={own.CompressionParameter.checksum_flag: 1})
    return importlib.import_module("zstandard").ZstdCompressor(write_checksum=True).compress


compress = _compressor()
