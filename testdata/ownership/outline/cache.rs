//! A cache.
use std::{collections::HashMap, fmt as f};

mod policy;

/// What is kept.
#[derive(Debug, Clone)]
pub struct Cache<K> {
    items: HashMap<K, u64>,
    limit: usize,
}

pub enum Outcome {
    Hit(u64),
    Miss,
}

const DEFAULT: usize = 16;
static mut COUNT: u64 = 0;
type Key = String;

pub trait Store {
    fn get(&self, key: &str) -> Outcome;

    fn clear(&mut self) {}
}

impl<K> Store for Cache<K> {
    fn get(&self, key: &str) -> Outcome {
        self.touch();
        Outcome::Miss
    }
}

impl<K> Cache<K> {
    /// Makes an empty one.
    pub fn new(limit: usize) -> Self {
        let mut items = HashMap::new();
        Cache { items, limit }
    }

    fn touch(&self) {}
}

macro_rules! cached {
    ($e:expr) => { $e };
}

mod tests {
    #[test]
    fn starts_empty() {
        assert!(true);
    }
}
