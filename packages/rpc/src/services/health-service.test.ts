import { expect } from "chai";
import { status } from "@grpc/grpc-js";
import { healthV1 } from "@bunting/protocol";
import { healthService, type HealthSource } from "./health-service.js";
import {
  BytesClient,
  eventually,
  failure,
  rawClient,
  releaseAfterEach,
  serve,
  wire,
} from "@bunting/test/support/grpc-port.js";

const ask = (service: string): Uint8Array => healthV1.HealthCheckRequest.encode({ service }).finish();
const answer = (bytes: Uint8Array): number => healthV1.HealthCheckResponse.decode(bytes).status;
const { SERVING, NOT_SERVING, SERVICE_UNKNOWN } = healthV1.HealthCheckResponse_ServingStatus;

class Switchboard implements HealthSource {
  readonly statuses = new Map<string, "SERVING" | "NOT_SERVING">([["", "SERVING"]]);
  readonly listeners = new Set<() => void>();

  statusOf(service: string): "SERVING" | "NOT_SERVING" | undefined {
    return this.statuses.get(service);
  }

  services(): Iterable<string> {
    return this.statuses.keys();
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  set(service: string, value: "SERVING" | "NOT_SERVING"): void {
    this.statuses.set(service, value);
    for (const listener of this.listeners) listener();
  }
}

describe("healthService", () => {
  releaseAfterEach();

  it("answers Check with the status of the server or a service, and NOT_FOUND for others", async () => {
    const board = new Switchboard();
    const client = new BytesClient(await serve(healthService(board)));
    const check = (service: string): Promise<Buffer> =>
      client.unary("/grpc.health.v1.Health/Check", ask(service));
    expect(answer(await check(""))).to.equal(SERVING);
    board.set("a.B", "NOT_SERVING");
    expect(answer(await check("a.B"))).to.equal(NOT_SERVING);
    expect((await failure(check("no.Such"))).code).to.equal(status.NOT_FOUND);
  });

  it("lists the status of every service", async () => {
    const board = new Switchboard();
    board.set("a.B", "NOT_SERVING");
    const client = new BytesClient(await serve(healthService(board)));
    const listed = await client.unary("/grpc.health.v1.Health/List", Buffer.alloc(0));
    expect(healthV1.HealthListResponse.decode(listed).statuses).to.deep.equal({
      "": { status: SERVING },
      "a.B": { status: NOT_SERVING },
    });
  });

  it("watches: the status at once, then each change of it, but no change of another service", async () => {
    const board = new Switchboard();
    const probe = new BytesClient(await serve(healthService(board))).stream(
      "/grpc.health.v1.Health/Watch",
      ask("a.B"),
    );
    const seen = (): number[] => probe.messages.map(answer);
    await eventually(() => seen().length === 1);
    board.set("", "NOT_SERVING");
    board.set("a.B", "SERVING");
    await eventually(() => seen().length === 2);
    board.set("a.B", "SERVING");
    board.set("a.B", "NOT_SERVING");
    await eventually(() => seen().length === 3);
    expect(seen()).to.deep.equal([SERVICE_UNKNOWN, SERVING, NOT_SERVING]);
    probe.call.cancel();
    await eventually(() => board.listeners.size === 0, "the watch to be given up");
  });

  it("keeps one message in flight for a client that does not read, however often the status changes", async () => {
    const board = new Switchboard();
    const listener = await serve(healthService(board));
    const client = await rawClient(listener);
    client.send(wire.subscribe("/grpc.health.v1.Health/Watch", { 4: 0 }));
    await eventually(() => board.listeners.size === 1);
    for (let change = 0; change < 1_001; change += 1)
      board.set("", change % 2 === 0 ? "NOT_SERVING" : "SERVING");
    client.send(Buffer.concat([wire.settingsAck(), wire.windowUpdate(1, 1_000), wire.ping()]));
    const answers = (): number => client.received.split("\0\0\0\0\x02\x08").length - 1;
    await eventually(() => answers() === 2);
    client.received = "";
    client.send(wire.ping());
    await eventually(() => client.hasFrame(wire.type.ping));
    expect(answers(), "one in flight and the newest").to.equal(0);
  });
});
