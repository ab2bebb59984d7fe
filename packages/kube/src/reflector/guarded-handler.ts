import type { Logger } from "@bunting/runtime";
import type { ReflectorHandler } from "./reflector-handler.js";

/** The same handler, whose mistakes are logged and end nothing: one object that can't be taken must not keep all others from coming. */
export function guardedHandler(handler: ReflectorHandler, logger: Logger): ReflectorHandler {
  const guard = (what: string, act: () => void): void => {
    try {
      act();
    } catch (error) {
      logger.error({ error }, `${what} failed; what comes after it goes on`);
    }
  };
  return {
    beginRead: () => {
      const read = handler.beginRead();
      return {
        add: (object, resourceVersion) => guard("taking an object", () => read.add(object, resourceVersion)),
        remove: (object) => guard("taking an object", () => read.remove(object)),
        complete: (resourceVersion, epoch) =>
          guard("taking a consistent read", () => read.complete(resourceVersion, epoch)),
      };
    },
    event: (event, epoch) => guard("taking an event", () => handler.event(event, epoch)),
    resumed: () => guard("taking a resumption", () => handler.resumed()),
    failed: (error) => guard("taking a failure", () => handler.failed(error)),
  };
}
