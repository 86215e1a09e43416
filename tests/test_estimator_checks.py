"""Scikit-learn's common checks, those that ``check_estimator`` runs and the public ones that it leaves out."""

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer
from mercer import dropin
from mercer._core import registry
from mercer.kernels import RBF, Linear, Polynomial

OMITTED = [
    "check_dataframe_column_names_consistency",
    "check_get_feature_names_out_error",
    "check_global_output_transform_pandas",
    "check_global_set_output_transform_polars",
    "check_inplace_ensure_writeable",
    "check_param_validation",
    "check_set_output_transform",
    "check_set_output_transform_pandas",
    "check_set_output_transform_polars",
    "check_transformer_get_feature_names_out",
    "check_transformer_get_feature_names_out_pandas",
]

MODELS = [
    mercer.KernelPCA(),
    *(mercer.KernelPCA(2, solver=name, random_state=0) for name in registry.SOLVERS),
    mercer.KernelPCA(2, center=False),
    mercer.KernelPCA(kernel="precomputed"),
    mercer.KernelPCA(kernel="linear"),
    mercer.KernelPCA(kernel="poly"),
    mercer.KernelPCA(2, kernel=Polynomial(2, gamma="scale", coef0=0.5), indefinite="error"),
    mercer.KernelPCA(2, kernel="chi2"),
    mercer.KernelPCA(2, kernel=RBF(gamma="median") + Linear()),
    mercer.KernelPCA(0.9),
    mercer.KernelPCA(0.5, kernel=RBF(gamma="median"), center=False),
    mercer.KernelPCA(2, preimage="learned"),
    dropin.KernelPCA(),
    dropin.KernelPCA(2, kernel="rbf", eigen_solver="arpack", random_state=0),
    dropin.KernelPCA(2, kernel="rbf", eigen_solver="randomized", random_state=0),
    dropin.KernelPCA(2, kernel="poly", remove_zero_eig=True),
    dropin.KernelPCA(2, kernel="rbf", fit_inverse_transform=True),
]

# The data of the checks reach both ends of a kernel's width, a matrix of arbitrary numbers is no kernel, and the checks
# of set_output go from tables to arrays.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The data are constant in feature space:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel is too narrow for these data:UserWarning"),
    pytest.mark.filterwarnings("ignore:The kernel matrix is indefinite:UserWarning"),
    pytest.mark.filterwarnings("ignore:X does not have valid feature names:UserWarning"),
    pytest.mark.filterwarnings("ignore:X has feature names, but:UserWarning"),
    pytest.mark.filterwarnings("ignore:Can't check dok sparse matrix:sklearn.exceptions.SkipTestWarning"),
]


@parametrize_with_checks(MODELS)
def test_checks_of_check_estimator(estimator, check):
    check(estimator)


def takes_tables(estimator):
    """The checks with tables give ordinary rows, which are no precomputed matrix."""
    return not estimator.__sklearn_tags__().input_tags.pairwise


@pytest.mark.parametrize("name", OMITTED)
@pytest.mark.parametrize("estimator", [*filter(takes_tables, MODELS)], ids=repr)
def test_checks_that_check_estimator_omits(estimator, name):
    check = getattr(estimator_checks, name, None)
    if check is None:
        pytest.skip(f"this scikit-learn has no {name}")
    check(type(estimator).__name__, estimator)


@pytest.mark.parametrize("estimator", [model for model in MODELS if not takes_tables(model)], ids=repr)
def test_parameters_of_precomputed_models_are_validated(estimator):
    estimator_checks.check_param_validation(type(estimator).__name__, estimator)
