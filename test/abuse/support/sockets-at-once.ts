import { once } from "node:events";
import { createConnection, type Socket } from "node:net";

/** Connections that are each closed with the first byte of an answer. */
export function connectTimes(count: number, port: number): Promise<readonly Socket[]> {
  return Promise.all(Array.from({ length: count }, () => connect(port)));
}

async function connect(port: number): Promise<Socket> {
  const socket = createConnection({ port, host: "127.0.0.1", localAddress: "127.0.0.2" });
  socket.on("error", () => undefined).once("data", () => socket.destroy());
  await Promise.race([once(socket, "connect"), once(socket, "close")]);
  return socket;
}

/** Writes the bytes to all sockets while the process stands still, so that it finds all of it at once. */
export function writeAtOnce(pid: number, sockets: readonly Socket[], bytes: Buffer): void {
  process.kill(pid, "SIGSTOP");
  for (const socket of sockets) socket.write(bytes);
  process.kill(pid, "SIGCONT");
}
