"""The actions of renamed modules: each warns and runs the module under its new name.

RENAMED has the names. Each old name is a link to this file, since Ansible calls an action by the name of its file.
"""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

RENAMED = {
    "hopshive_schema": "hopshive_consistency_schema",
    "hopshive_hive_schema": "hopshive_metastore_schema",
}
# The release that no longer has the old names.
REMOVED_IN = "0.2.0"
# Ansible names no release in the warning without it.
COLLECTION = "hopshive.warehouse"


class ActionModule(ActionBase):  # type: ignore[misc]
    def run(self, tmp: None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        super().run(tmp, task_vars)
        # A module of a collection has the collection's name in front, before and after.
        collection, dot, old = self._task.action.rpartition(".")
        new = RENAMED[old]
        Display().deprecated(
            f"The module {old} is called {new} now. Write the new name in {self._task.get_path()}.",
            version=REMOVED_IN,
            collection_name=COLLECTION,
        )
        task = self._task.copy()
        task.action = collection + dot + new
        actions = self._shared_loader_obj.action_loader
        action = actions.get(
            task.action if actions.has_plugin(task.action) else "ansible.legacy.normal",
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )
        result: dict[str, Any] = action.run(task_vars=task_vars)
        return result
