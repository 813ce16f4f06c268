'use strict';

const fs = require('fs');
const { join } = require('path');
const LIMIT = 10;

/** Keeps values. */
class Store extends Base {
  static kind = 'store';

  handler = () => {
    this.size = 0;
  };

  constructor(path) {
    super();
    this.path = path;
  }

  get size() {
    return this.count;
  }

  async load(name, { strict = false } = {}) {
    const text = await fs.readFile(join(this.path, name));
    return parse(text, strict);
  }
}

function parse(text, ...rest) {
  const trim = (s) => s.trim();
  return trim(text);
}

Store.prototype.save = function save(name, value) {
  fs.writeFile(name, value);
};

exports.open = async (path) => new Store(path);

module.exports = {
  Store,
  close: function () {
    return null;
  },
  clear() {
    return LIMIT;
  },
};
