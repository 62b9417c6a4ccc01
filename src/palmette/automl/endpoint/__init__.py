"""The delivered package as a folder and as a service: delivery, checks, predictions, retraining, ONNX."""
