import { setTimeout as delay } from "node:timers/promises";
import type { RedisServer } from "@bunting/backplane/internal/redis-server.fixture.js";
import { eventually } from "./event-queue.js";
import { FaultyApiServer } from "./faulty-api-server/index.js";
import { FlowingEdits } from "./flowing-edits.js";
import { Replica, type ReplicaOptions } from "./replica.js";
import { scaled } from "./scale.js";
import { SyncClients, type ClientReport } from "./sync-clients.js";
import { TcpSwitch } from "./tcp-switch.js";

/** At each replica, and far more than there are topics. */
const subscribersOfEach = scaled(333, 22);
/** Whose subscribers one process plays. */
const placesOfProcess = scaled(1, 3);

export interface WorldOptions extends Pick<ReplicaOptions, "backplane" | "args" | "binary"> {
  /** How wrong the clocks of the first replicas are, in ms. */
  readonly clockShiftsMs?: readonly number[];
}

/** One of so many parts of a process's clients, which take turns. */
interface Subscribers {
  readonly clients: SyncClients;
  readonly part: number;
  readonly parts: number;
}

/** Where subscribers of one replica connect, until that is changed. */
interface Place {
  readonly entry: TcpSwitch;
  subscribers: Subscribers | undefined;
  replica: Replica | undefined;
}

/** Three replicas on one API server and one Redis, with subscribers spread over them and edits that flow. */
export class ReplicatedWorld {
  readonly topics = ["team-a", "team-b", "team-c"].flatMap((namespace) => [
    `${namespace}/one`,
    `${namespace}/two`,
  ]);
  readonly api: FaultyApiServer;
  readonly edits: FlowingEdits;
  readonly #redis: RedisServer;
  readonly #options: WorldOptions;
  readonly #places: readonly Place[];
  #started = 0;

  private constructor(
    api: FaultyApiServer,
    redis: RedisServer,
    places: readonly Place[],
    options: WorldOptions,
  ) {
    this.api = api;
    this.#redis = redis;
    this.#places = places;
    this.#options = options;
    this.edits = new FlowingEdits(api, this.topics);
    this.edits.put();
  }

  /** One without processes yet. */
  static async prepare(redis: RedisServer, options: WorldOptions = {}): Promise<ReplicatedWorld> {
    const api = await FaultyApiServer.start();
    const entries = await Promise.all([TcpSwitch.start(), TcpSwitch.start(), TcpSwitch.start()]);
    const places = entries.map((entry) => ({ entry, subscribers: undefined, replica: undefined }));
    return new ReplicatedWorld(api, redis, places, options);
  }

  get replicas(): readonly Replica[] {
    return this.#places.flatMap(({ replica }) => replica ?? []);
  }

  /** Starts all replicas that are missing at once. Subscribers that went to others meanwhile come back. */
  async startReplicas(): Promise<void> {
    await Promise.all(
      this.#places.map(async (place, index) => {
        if (place.replica !== undefined) return;
        place.replica = await this.#startReplica(this.#options.clockShiftsMs?.[index]);
        place.entry.setBackends([place.replica.port]);
        place.entry.cut();
      }),
    );
  }

  /** Starts subscribers, a third of them at each replica, and waits until all have the flags. */
  async subscribe(): Promise<void> {
    for (let first = 0; first < this.#places.length; first += placesOfProcess) {
      const places = this.#places.slice(first, first + placesOfProcess);
      const clients = new SyncClients({
        count: subscribersOfEach * places.length,
        target: places.map(({ entry }) => `127.0.0.1:${entry.port}`),
        selector: this.topics,
        flag: "version",
      });
      for (const [part, place] of places.entries())
        place.subscribers = { clients, part, parts: places.length };
    }
    await this.allHaveTheNewest();
  }

  /** Puts a new one in the place of a replica, as an update does: its subscribers go there when the old one has drained. `binary`: of another version. */
  async replace(old: Replica, binary?: string): Promise<number | null> {
    const place = this.#placeOf(old);
    const next = await this.#startReplica(undefined, binary);
    place.replica = next;
    place.entry.setBackends([next.port]);
    return old.stop("SIGTERM");
  }

  /** Kills it; its subscribers go to others from now on. */
  async kill(replica: Replica): Promise<void> {
    const place = this.#placeOf(replica);
    place.replica = undefined;
    const left = this.replicas.map(({ port }) => port);
    for (const { entry, replica: present } of this.#places)
      if (present === undefined) entry.setBackends(left);
    await replica.stop("SIGKILL");
    place.entry.cut();
  }

  /** The replica that has the only watch of a topic. */
  owner(topic = this.topics[0] ?? ""): Replica {
    const [name] = this.#watchers().get(topic) ?? [];
    const owner = this.replicas.find((replica) => replica.name === name);
    if (owner === undefined) throw new Error(`nobody watches ${topic}`);
    return owner;
  }

  /** Waits until each topic has so many watches: 1 if replicas share, 3 if each watches for itself. */
  async watchesOfEach(count: number, withinMs = 60_000): Promise<void> {
    const isSo = (): boolean => this.#counts().every((one) => one === count);
    await eventually(isSo, `${count} for each`, withinMs).catch((error: unknown) => {
      throw new Error(`${String(error)}: there are ${this.#counts().join(", ")}; ${this.output}`);
    });
  }

  /** Waits until no subscriber holds an older version than this. */
  async allReach(version: number): Promise<void> {
    const isSo = async (): Promise<boolean> => {
      // Each look asks for as many reports as there are subscribers.
      await delay(100);
      return (await this.#reports()).every(({ last }) => last >= version);
    };
    await eventually(isSo, `all subscribers have version ${version}`, 60_000);
  }

  async allHaveTheNewest(): Promise<void> {
    let behind: number[] = [];
    const isSo = async (): Promise<boolean> => {
      // Each look asks for as many reports as there are subscribers.
      await delay(100);
      behind = (await this.#reports()).map(({ last }) => last).filter((last) => last !== this.edits.version);
      return behind.length === 0;
    };
    await eventually(isSo, "all subscribers have the newest", 60_000).catch((error: unknown) => {
      const held = [...new Set(behind)].join(", ");
      throw new Error(
        `${String(error)}: ${behind.length} hold ${held}, not ${this.edits.version}; ${this.output}`,
      );
    });
  }

  /** Measures from now on for how long subscribers are behind. */
  measure(): void {
    for (const clients of this.#clients()) clients.measure();
  }

  /** Ends the edits, and judges what subscribers have seen. `except`: a replica whose subscribers nobody can reach for a while. */
  async judge(except?: Replica): Promise<{ readonly backwards: unknown[]; readonly behindMs: number }> {
    this.edits.end();
    await this.allHaveTheNewest();
    const measured = this.#places.filter(({ replica }) => except === undefined || replica !== except);
    return {
      backwards: (await this.#reports()).flatMap(({ backwards }) => backwards),
      behindMs: Math.max(...(await this.#reports(measured)).map(({ behindMs }) => behindMs)),
    };
  }

  /** What all replicas have logged. */
  get output(): string {
    return this.replicas.map(({ name, proxy }) => `${name}:\n${proxy.process.output}`).join("\n");
  }

  async stop(): Promise<void> {
    this.edits.end();
    for (const clients of this.#clients()) clients.kill();
    await Promise.all(this.replicas.map((replica) => replica.stop()));
    await Promise.all(this.#places.map(({ entry }) => entry.close()));
    await this.api.close();
  }

  async #startReplica(clockShiftMs?: number, binary = this.#options.binary): Promise<Replica> {
    const { backplane, args = [] } = this.#options;
    return Replica.start({
      name: `replica-${++this.#started}`,
      api: this.api,
      redisPort: this.#redis.port,
      clockShiftMs,
      ...(backplane === undefined ? {} : { backplane }),
      ...(binary === undefined ? {} : { binary }),
      // Redis may be relied on again at once, or each outage of a test would take seconds more.
      args: ["--backplane-stable", "300ms", ...args],
    });
  }

  #placeOf(replica: Replica): Place {
    const found = this.#places.find((place) => place.replica === replica);
    if (found === undefined) throw new Error(`${replica.name} has no place`);
    return found;
  }

  #clients(): ReadonlySet<SyncClients> {
    return new Set(this.#places.flatMap(({ subscribers }) => subscribers?.clients ?? []));
  }

  async #reports(places: readonly Place[] = this.#places): Promise<ClientReport[]> {
    const reports = new Map<SyncClients, Promise<ClientReport[]>>();
    for (const clients of this.#clients()) reports.set(clients, clients.report());
    const ofEach = places.map(async ({ subscribers }) => {
      if (subscribers === undefined) return [];
      const all = (await reports.get(subscribers.clients)) ?? [];
      return all.filter((_, index) => index % subscribers.parts === subscribers.part);
    });
    return (await Promise.all(ofEach)).flat();
  }

  #watchers(): Map<string, string[]> {
    const watchers = new Map<string, string[]>(this.topics.map((topic) => [topic, []]));
    for (const { scope, request } of this.api.watches())
      watchers.get(scope)?.push(request.token ?? "anonymous");
    return watchers;
  }

  #counts(): number[] {
    return [...this.#watchers().values()].map(({ length }) => length);
  }
}
