/** @type {import("next").NextConfig} */
export default {
  poweredByHeader: false,
  // This folder is the whole application, although it lies in a larger repository.
  turbopack: { root: import.meta.dirname },
};
