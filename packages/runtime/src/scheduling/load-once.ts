/**
 * Makes a function that loads something once for all callers, such as a module that few processes need. A failure is that of those who wait for it:
 * a module can't be read while there is no descriptor for its file, and the next caller tries again.
 */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}
