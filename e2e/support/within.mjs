// A limit for what has none of its own, so that what hangs is named before its whole file is ended.

const LIMIT_SECS = 60;

/** Result of the promise, or an error that names `what`. */
export async function within(what, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    const error = new Error(`${what} took more than ${LIMIT_SECS} seconds`);
    timer = setTimeout(() => reject(error), LIMIT_SECS * 1000);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
