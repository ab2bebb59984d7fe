/** Runs a task for all items, a few at once: an API server that gets thousands of writes together answers 429. */
export async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<unknown>): Promise<void> {
  const rest = [...items];
  const work = async (): Promise<void> => {
    for (let item = rest.pop(); item !== undefined; item = rest.pop()) await act(item);
  };
  await Promise.all(Array.from({ length: 16 }, work));
}
