"""Memory of pre-images, measured from outside in a process of their own."""

import pytest
from test_memory import megabytes

POINTS, ANCHORS, BUDGET = 5000, 1500, 8


@pytest.mark.parametrize("method", ["FixedPoint(max_iter=2)", "Smoother()"])
def test_pre_images_take_no_more_than_the_budget(method):
    beyond = megabytes(f"""
        from mercer.preimage import *
        X = rng.normal(size=({ANCHORS}, 20)) * 0.8 ** np.arange(20)
        model = KernelPCA(5, kernel=RBF("median"), preimage={method}, solver="randomized", random_state=0).fit(X)
        Y = model.transform(X)[np.arange({POINTS}) % {ANCHORS}]
        with sklearn.config_context(working_memory={BUDGET}):
            model.preimages(Y[:200]).error
            before = peak()
            result = model.preimages(Y)
            assert np.all(np.isfinite(result.error))
        print(peak() - before - 2 * result.X.nbytes / 2**20)
    """)
    whole = 8 * POINTS * ANCHORS / 2**20
    assert beyond < 3 * BUDGET < whole / 2
