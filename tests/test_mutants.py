"""The sample of `make mutants`, the tests it picks and the lines it prints."""

from tests.support.mutants import changed_line, draw, pick_tests

SOURCE = '''class Box:
    def area(self):
        return self.width * self.height


# Counts the corners.
# All of them.
def area(width, height):
    """A comment above and this line come before the change."""
    return width * height
'''
CHANGE_OF_FUNCTION = """--- box.py
+++ box.py
@@ -2,4 +2,4 @@
 # All of them.
 def area(width, height):
     \"\"\"A comment above and this line come before the change.\"\"\"
-    return width * height
+    return width / height"""
CHANGE_OF_METHOD = """--- box.py
+++ box.py
@@ -1,2 +1,2 @@
 def area(self):
-    return self.width * self.height
+    return self.width / self.height"""


def test_a_seed_draws_the_same_mutants_in_any_order():
    names = [f"box.x_area__mutmut_{n}" for n in range(100)]
    assert draw(names, 5, seed=1) == draw(reversed(names), 5, seed=1) != draw(names, 5, seed=2)
    assert sorted(draw(names, 1000, seed=1)) == sorted(names)


def test_a_change_has_the_line_of_the_file():
    assert changed_line(SOURCE, "box.x_area__mutmut_1", CHANGE_OF_FUNCTION) == 10
    assert changed_line(SOURCE, "box.xǁBoxǁarea__mutmut_1", CHANGE_OF_METHOD) == 3


def test_a_module_meets_its_own_tests_then_its_folders_and_those_that_import_it():
    near, far = pick_tests(["arena/budget.py"])
    assert near == ["tests/arena/test_budget.py"]
    assert {"tests/arena/test_database.py", "tests/scoring/jobs/test_budgets.py"} <= set(far)
    assert not any("/web/" in test or "/cli/" in test for test in far)
