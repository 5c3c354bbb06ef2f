//! Server kit: problem bodies, extractors, layers, graceful serving
