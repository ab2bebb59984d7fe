/** How the process that runs a case talks to its children: calls by name over the channel of a forked child. */

/** What a child can be asked to do. Input and output are plain JSON. */
export type Handlers = Record<string, (input: never) => unknown>;

export interface CallMessage {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

export type ReplyMessage =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly error: string }
  /** Not an answer: something went wrong that voids the measurement. */
  | { readonly failure: string };

/** Answers calls in a child process. Returns a function that reports a failure outside of any call. */
export function serveCalls(handlers: Handlers): (error: Error) => void {
  const reply = (message: ReplyMessage): void => void process.send?.(message);
  const answer = async ({ id, name, input }: CallMessage): Promise<void> => {
    const handler = handlers[name];
    if (handler === undefined) throw new Error(`no handler for ${name}`);
    reply({ id, output: await handler(input as never) });
  };
  process.on("message", (message) => {
    const call = message as CallMessage;
    answer(call).catch((error: unknown) => reply({ id: call.id, error: textOf(error) }));
  });
  process.on("disconnect", () => process.exit(0));
  return (error) => reply({ failure: textOf(error) });
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
