"""The Qt application: views, view-models and jobs that call the engine."""
