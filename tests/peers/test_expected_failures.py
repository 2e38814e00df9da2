"""Laws of the lists: at most one test in twenty of a module, and no entry that names no test."""

import sys

lists = sys.modules["expected_failures"]


def test_at_most_one_in_twenty_does_not_pass(peer_counts):
    for module, counts in peer_counts.items():
        most = lists.MORE_THAN_ONE_IN_TWENTY.get(module, counts["tests"] // 20)
        assert counts["different"] <= most, (module, counts)


def test_every_entry_names_a_test(peer_counts, used_entries):
    tables = lists.DIFFERENT, lists.OF_CHANCE, lists.PRIVATE, lists.ANNOUNCED
    entries = {(module, entry) for table in tables for module in table for entry in table[module]}
    assert {entry for entry in entries if entry[0] in peer_counts} == used_entries
