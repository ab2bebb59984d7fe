import type { PortListener } from "@bunting/server";
import { within, type Component, type Logger } from "@bunting/runtime";
import { ProxyError } from "../proxy-error.js";

export interface ListeningOptions {
  readonly name: string;
  readonly reason: string;
  readonly port: PortListener;
  readonly logger: Logger;
}

/** Time that pending HTTP/1.1 requests, such as Prometheus's, have when the port closes. */
const graceMs = 1_000;

/** A port of probes, metrics and status, which opens and closes at its places in the start and stop order. */
export function listeningComponent({ name, reason, port, logger }: ListeningOptions): Component {
  return {
    name,
    reason,
    start: () => listen(name, port, logger),
    stop: async () => {
      await within(graceMs, port.stopListening());
      await port.close();
    },
  };
}

/** @throws ProxyError PORT_UNUSABLE with a message that names the port and the option to choose another. */
export async function listen(name: string, port: PortListener, logger: Logger): Promise<void> {
  await port.listen().catch((cause: unknown) => {
    throw new ProxyError("PORT_UNUSABLE", (cause as Error).message, { cause });
  });
  logger.info({ service: name, port: port.port }, "listening");
}
