import { frameFlag, h2Error, pingFrame, setting, settingProblem, settingsAck } from "./frames.js";
import type { Http2Stream } from "./http2-stream.js";
import type { OpenStreams } from "./open-streams.js";
import { PeerConduct } from "./peer-conduct.js";
import { streamsPerWork, type SessionOutput } from "./session-output.js";
import type { SessionPings } from "./session-pings.js";

/** Default size of the tables of HPACK, until SETTINGS change it. */
const defaultTableBytes = 4_096;

/** The session, as the frames that concern all of it see it. */
export interface ControlOwner {
  /** The window that the peer gives each stream at first. Set by SETTINGS only. */
  peerWindowBytes: number;
  readonly open: Pick<OpenStreams<Http2Stream>, "get" | "size" | "values">;
  readonly pings: SessionPings;
  onSettingsAck(): void;
  spend(work: number): void;
  /** The client violates HTTP/2: nothing more is read. */
  fail(code: number, reason: string): void;
  /** The client has sent too many PING or SETTINGS frames. */
  failByFlood(): void;
}

/** What a client sends that concerns all of its connection, SETTINGS and PINGs, and how much of that, and of resets, it may send. */
export class SessionControl {
  readonly #owner: ControlOwner;
  readonly #output: SessionOutput;
  /** Undefined until the client does what is counted: most never do. */
  #conduct: PeerConduct | undefined;
  /** The client has sent its SETTINGS, which come first. Set here only, as the next. */
  hasSettings = false;
  /** The client knows our SETTINGS. */
  isAcknowledged = false;

  constructor(owner: ControlOwner, output: SessionOutput) {
    this.#owner = owner;
    this.#output = output;
  }

  takeSettings(payload: Buffer): void {
    // Each client sends one.
    const isFlood = this.hasSettings && this.#counted.countSettings();
    this.hasSettings = true;
    let windowBytes = this.#owner.peerWindowBytes;
    for (let at = 0; at < payload.length; at += 6) {
      const id = payload.readUInt16BE(at);
      const value = payload.readUInt32BE(at + 2);
      const problem = settingProblem(id, value);
      if (problem !== undefined) {
        this.#owner.fail(problem, "a setting has an invalid value");
        return;
      }
      if (id === setting.initialWindowSize) windowBytes = value;
      else if (id === setting.headerTableSize && value < defaultTableBytes) this.#output.updateTable();
    }
    // Once, however often it is set: that concerns all streams.
    if (!this.#setWindow(windowBytes))
      this.#owner.fail(h2Error.FLOW_CONTROL_ERROR, "the window of a stream overflows");
    else if (isFlood) this.#owner.failByFlood();
    else this.#output.control(settingsAck, true);
  }

  takeSettingsAck(): void {
    if (this.isAcknowledged) this.#isFlood();
    this.isAcknowledged = true;
    this.#owner.onSettingsAck();
  }

  takePing(flags: number, payload: Buffer): void {
    if ((flags & frameFlag.ack) !== 0) {
      if (!this.#owner.pings.acknowledge(payload)) this.#isFlood();
    } else if (!this.#isFlood()) this.#output.control(pingFrame(payload, true), true);
  }

  /** Counts a stream that the client has reset, or has made us reset. */
  countReset(): void {
    if (this.#counted.countReset()) this.#owner.fail(h2Error.ENHANCE_YOUR_CALM, "too many resets");
  }

  get #counted(): PeerConduct {
    return (this.#conduct ??= new PeerConduct());
  }

  /** Counts a frame; true if there are too many. */
  #isFlood(): boolean {
    if (!this.#counted.countControlFrame(this.#output.sentBytes)) return false;
    this.#owner.failByFlood();
    return true;
  }

  /** False if that is more than a stream's window can have. */
  #setWindow(bytes: number): boolean {
    const { open, peerWindowBytes } = this.#owner;
    const change = bytes - peerWindowBytes;
    if (change === 0) return true;
    this.#owner.peerWindowBytes = bytes;
    this.#owner.spend(open.size / streamsPerWork);
    for (const stream of open.values()) if (!stream.widen(change)) return false;
    return true;
  }
}
