import type { PortListener } from "@bunting/rpc";
import type { Component, Logger } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";

export interface ListeningOptions {
  readonly name: string;
  readonly reason: string;
  readonly port: PortListener;
  readonly logger: Logger;
}

/** A port that is opened at its place in the start order, and closed at once at its place in the stop order. */
export function listeningComponent({ name, reason, port, logger }: ListeningOptions): Component {
  return {
    name,
    reason,
    start: () => listen(name, port, logger),
    stop: () => port.close(),
  };
}

/** @throws ProxyError PORT_UNUSABLE with a message that names the port and the option to choose another. */
export async function listen(name: string, port: PortListener, logger: Logger): Promise<void> {
  await port.listen().catch((cause: unknown) => {
    throw new ProxyError("PORT_UNUSABLE", (cause as Error).message, { cause });
  });
  logger.info({ service: name, port: port.port }, "listening");
}
