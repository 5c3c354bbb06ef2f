//! Fakes and real servers for tests; never part of the program
