"""The character as a whole: Make Supple, looks, checks, reports, the example, a fitted skeleton."""

from . import check, example, fit, make, reports, side_by_side

CLASSES = (
    make.SUPPLE_OT_flip,
    make.SUPPLE_OT_make,
    make.SUPPLE_OT_remedy,
    make.SUPPLE_OT_update,
    reports.SUPPLE_OT_measure,
    reports.SUPPLE_OT_close_report,
    side_by_side.SUPPLE_OT_side_by_side,
    check.SUPPLE_OT_check,
    check.SUPPLE_OT_check_show,
    check.SUPPLE_OT_check_fix,
    check.SUPPLE_OT_check_fix_all,
    check.SUPPLE_OT_check_dismiss,
    check.SUPPLE_OT_check_close,
    example.SUPPLE_OT_example_add,
    fit.SUPPLE_OT_fit_skeleton,
)
