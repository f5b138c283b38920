import pytest

# so that the asserts of the laws show their values too
pytest.register_assert_rewrite("tests.laws.learners", "tests.laws.writers")
