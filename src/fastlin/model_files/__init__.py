"""Model files: any model in one file, raw text in and a label out."""
