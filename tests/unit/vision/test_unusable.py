"""Why a detector cannot be used, in a sentence."""

from streamward.vision.unusable import AnswerUnusable, DetectorUnusable


def test_a_detector_that_cannot_be_had_says_which_and_why():
    assert str(DetectorUnusable("colur", "nobody has it")) == "the detector colur cannot be used: nobody has it"


def test_an_answer_that_is_none_says_why():
    assert str(AnswerUnusable("a str")) == "the detector's answer cannot be used: a str"
