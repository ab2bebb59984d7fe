import type { Logger } from "@bunting/runtime";
import type { ReflectorHandler } from "./reflector-handler.js";

/** Wraps a handler so that its errors are logged: one object that can't be handled must not stop the watch of all others. */
export function guardedHandler(handler: ReflectorHandler, logger: Logger): ReflectorHandler {
  const guard = (what: string, act: () => void): void => {
    try {
      act();
    } catch (error) {
      logger.error({ error }, `handling ${what} failed; the watch continues`);
    }
  };
  return {
    beginRead: (namespace) => {
      const read = handler.beginRead(namespace);
      return {
        add: (object, resourceVersion) => guard("an object", () => read.add(object, resourceVersion)),
        remove: (object) => guard("an object", () => read.remove(object)),
        complete: (resourceVersion, epoch) =>
          guard("a consistent read", () => read.complete(resourceVersion, epoch)),
      };
    },
    event: (event, epoch) => guard("an event", () => handler.event(event, epoch)),
    resumed: () => guard("a resumption", () => handler.resumed?.()),
    interrupted: () => guard("the end of a watch", () => handler.interrupted?.()),
    failed: (error) => guard("a failure", () => handler.failed?.(error)),
  };
}
