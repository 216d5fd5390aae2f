"""The database that an agent gets: a new file, without what the task takes away."""

from engine.workspaces.build import WorkspaceInfo, build_workspace

__all__ = ["WorkspaceInfo", "build_workspace"]
