//! Removes secrets from streams of bytes, whatever their encoding
