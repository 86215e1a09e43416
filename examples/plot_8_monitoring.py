"""
Process monitoring
==================

Three tanks run normally, then a sensor fails. The contributions identify it.
"""

from mercer import KernelPCAMonitor, datasets, plots

normal, _ = datasets.three_tanks(n=1500)
X, faulty = datasets.three_tanks(1, n=400, fault="sensor", sensor=3)
monitor = KernelPCAMonitor(random_state=0).fit(normal)
plots.chart(monitor, X, "spe")

# %%

alarms = X[(monitor.predict(X) == -1) & (faulty == 1)]
plots.contributions(monitor, alarms, names=datasets.TANK_SENSORS)
