from regard.data.unseen import unseen_labels, unseen_note


def test_the_most_frequent_come_first_and_many_are_cut_short() -> None:
    found = unseen_labels("a b b c c c d".split(), ["d"])
    assert list(found.items()) == [("c", 3), ("b", 2), ("a", 1)]
    assert unseen_note(found, "test.txt", "tag", "word") == (
        "test.txt: the tags c (3 words), b (2 words), a (1 word) do not occur in the training data, so each counts as "
        "an error of the model"
    )
    many = unseen_note(unseen_labels(map(str, range(12)), []), "test.txt", "label", "example")
    assert ", 2 more do not occur" in many
