"""scikit-learn's tests of passive-aggressive learning, on fastlin's."""

from support.peer_modules import tests_of

globals().update(
    tests_of(
        "sklearn.linear_model.tests.test_passive_aggressive",
        "_average_coef",
        "_average_intercept",
        "_standard_coef",
        "_standard_intercept",
    )
)
