"""The words for pictures."""

from streamward.model.video import PictureSize


def test_a_size_reads_as_people_write_it():
    assert str(PictureSize(1280, 720)) == "1280x720"
