import type { PeerAccount } from "./account.js";
import type { RefusalReason } from "./status.js";
import type { GrpcHeaderRules, TransportLimits } from "./transport.js";
import { EndedStreams } from "./ended-streams.js";
import { FrameReader, type FrameSink } from "./frame-reader.js";
import {
  h2Error,
  frameFlag,
  frameType,
  initialWindowBytes,
  pingFrame,
  setting,
  settingProblem,
  settingsAck,
  windowUpdateFrame,
  type ErrorName,
} from "./frames.js";
import type { HeaderList } from "./hpack/header-decoder.js";
import type { Http2Stream } from "./http2-stream.js";
import { PeerConduct } from "./peer-conduct.js";
import { areTrailers, type RequestHead } from "./request-head.js";
import { RequestHeads } from "./request-heads.js";
import { streamsPerWork, type SessionOutput } from "./session-output.js";

/** Default size of the tables of HPACK, until SETTINGS change it. */
const defaultTableBytes = 4_096;
/** Frames that cost as much as a request. */
const framesPerWork = 64;
/** Bytes of a header block that cost as much as a request. */
const blockBytesPerWork = 8 * 1024;
/** Begin of an HTTP/2 connection (RFC 9113 3.4): the sniffer has seen all of it. */
const prefaceBytes = 24;

export type SessionLimits = Pick<TransportLimits, "maxStreamsPerConnection" | "maxHeaderBytes">;

/** The session, as its input sees it. */
export interface InputOwner {
  readonly account: PeerAccount;
  readonly grpcHeaders: GrpcHeaderRules;
  readonly limits: SessionLimits;
  /** The window that the peer gives each stream at first. Set by the input only. */
  peerWindowBytes: number;
  /** Streams that are open, by their ids. */
  readonly open: ReadonlyMap<number, Http2Stream>;
  /** True if the connection has had more than its share of this turn of the event loop. */
  readonly hasEnough: boolean;
  /** A request has come. */
  begins(streamId: number, head: RequestHead, hasEnded: boolean): void;
  onSettingsAck(): void;
  /** False if this is not the answer to a PING of ours. */
  onPingAck(payload: Buffer): boolean;
  sendReset(streamId: number, code: number, hasRequestEnded: boolean): void;
  countRefusal(reason: RefusalReason): void;
  spend(work: number): void;
  /** The client violates HTTP/2: nothing more is read. */
  fail(code: number, reason: string): void;
  /** The client has sent too many PING or SETTINGS frames. */
  failByFlood(): void;
}

/** The frames that the client of one connection sends, checked against RFC 9113 in the order of their arrival. */
export class SessionInput implements FrameSink {
  readonly #owner: InputOwner;
  readonly #output: SessionOutput;
  readonly #reader = new FrameReader(this);
  readonly #heads: RequestHeads;
  readonly #conduct = new PeerConduct();
  readonly #ended = new EndedStreams();
  #prefaceLeft = prefaceBytes;
  #hasSettings = false;
  #isSettingsAcked = false;
  #frames = 0;
  #sweptFrames = 0;
  #headerSweeps = 0;
  #lastStreamId = 0;
  #receiveWindow = initialWindowBytes;
  #uncreditedBytes = 0;

  constructor(owner: InputOwner, output: SessionOutput) {
    this.#owner = owner;
    this.#output = output;
    this.#heads = new RequestHeads(owner.limits.maxHeaderBytes, owner.grpcHeaders.isGrpc);
  }

  /** The newest stream of the client. */
  get lastStreamId(): number {
    return this.#lastStreamId;
  }

  /** Takes bytes from the socket; returns those that are to be pushed again, in a later turn. */
  push(chunk: Buffer): Buffer | undefined {
    let rest = chunk;
    if (this.#prefaceLeft > 0) {
      rest = chunk.subarray(this.#prefaceLeft);
      this.#prefaceLeft = Math.max(0, this.#prefaceLeft - chunk.length);
    }
    return this.#reader.push(rest);
  }

  get hasEnough(): boolean {
    return this.#owner.hasEnough;
  }

  /** Nothing is read any more. */
  stop(): void {
    this.#reader.stop();
  }

  /** Ignores further frames of the client on this stream. */
  ignore(streamId: number): void {
    this.#ended.add(streamId);
  }

  /** Called once per sweep; returns for how many sweeps in a row the peer has been in the same header block. */
  countHeaderSweep(): number {
    const isSame = this.#reader.isInHeaders && this.#frames === this.#sweptFrames;
    this.#sweptFrames = this.#frames;
    this.#headerSweeps = isSame ? this.#headerSweeps + 1 : 0;
    return this.#headerSweeps;
  }

  onHeaders(streamId: number, flags: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#hasBegun()) return;
    const endsStream = (flags & frameFlag.endStream) !== 0;
    const stream = this.#owner.open.get(streamId);
    const known = stream === undefined ? this.#heads.known(bytes, start, end) : undefined;
    if (known !== undefined) {
      if (this.#opens(streamId)) this.#begin(streamId, known, endsStream);
      return;
    }
    this.#owner.spend((end - start) / blockBytesPerWork);
    const list = this.#heads.decode(bytes, start, end);
    if (list === undefined) this.#owner.fail(h2Error.COMPRESSION_ERROR, "the header block is invalid");
    else if (stream !== undefined) this.#endWithTrailers(stream, list, endsStream);
    else if (this.#opens(streamId)) this.#open(streamId, list, endsStream, bytes.subarray(start, end));
  }

  onData(streamId: number, piece: Buffer, flowBytes: number, endsStream: boolean): void {
    if (!this.#hasBegun()) return;
    this.#receiveWindow -= flowBytes;
    if (this.#receiveWindow < 0) {
      this.#owner.fail(h2Error.FLOW_CONTROL_ERROR, "more DATA than the window");
      return;
    }
    const stream = this.#owner.open.get(streamId);
    if (stream === undefined) this.#refuseData(streamId);
    else {
      const code = stream.receiveData(piece, flowBytes, endsStream);
      if (code !== undefined) this.#abort(stream, code);
    }
    // At once, whatever its stream does: other streams must not wait for it.
    this.#uncreditedBytes += flowBytes;
    if (this.#uncreditedBytes < initialWindowBytes >>> 1) return;
    this.#receiveWindow += this.#uncreditedBytes;
    this.#output.control(windowUpdateFrame(0, this.#uncreditedBytes));
    this.#uncreditedBytes = 0;
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    if (type === frameType.settings) {
      this.#takeSettings(flags, payload);
      return;
    }
    if (!this.#hasBegun()) return;
    switch (type) {
      case frameType.ping:
        this.#takePing(flags, payload);
        break;
      case frameType.windowUpdate:
        this.#takeWindowUpdate(streamId, payload.readUInt32BE(0) & 0x7fffffff);
        break;
      case frameType.rstStream:
        this.#takeReset(streamId);
        break;
      case frameType.priority:
        if ((payload.readUInt32BE(0) & 0x7fffffff) !== streamId) break;
        this.#refuseDependency(this.#owner.open.get(streamId));
    }
  }

  onIgnored(): void {
    this.#hasBegun();
  }

  onBufferedChange(bytes: number): void {
    if (bytes > 0) this.#owner.account.charge(bytes);
    else this.#owner.account.release(-bytes);
  }

  onInvalid(code: number, reason: string): void {
    this.#owner.fail(code, reason);
  }

  /** False if this frame comes before the client's SETTINGS. Counts it. */
  #hasBegun(): boolean {
    if (++this.#frames % framesPerWork === 0) this.#owner.spend(1);
    if (this.#hasSettings) return true;
    this.#owner.fail(h2Error.PROTOCOL_ERROR, "SETTINGS must come first");
    return false;
  }

  /** True if these headers begin a request that is to be answered. */
  #opens(streamId: number): boolean {
    if ((streamId & 1) === 0) {
      this.#owner.fail(h2Error.PROTOCOL_ERROR, "the stream has an even id");
      return false;
    }
    if (streamId <= this.#lastStreamId) {
      // Trailers of a stream that we have ended may be on their way.
      if (!this.#ended.has(streamId)) this.#owner.fail(h2Error.STREAM_CLOSED, "the stream has ended");
      return false;
    }
    // Its client knows, or will soon, that it has to try elsewhere.
    if (this.#output.hasSentGoaway) return false;
    this.#lastStreamId = streamId;
    if (this.#owner.open.size < this.#owner.limits.maxStreamsPerConnection) return true;
    this.#owner.sendReset(streamId, h2Error.REFUSED_STREAM, false);
    this.#owner.spend(1);
    return false;
  }

  #open(streamId: number, list: HeaderList, endsStream: boolean, block: Buffer): void {
    const head = this.#heads.headOf(list, block);
    // The client knows the limit from our SETTINGS.
    const isTooLarge = list.bytes > this.#owner.limits.maxHeaderBytes && this.#isSettingsAcked;
    if (head !== undefined && !isTooLarge) {
      this.#begin(streamId, head, endsStream);
      return;
    }
    this.#refuse(streamId, head === undefined ? "PROTOCOL_ERROR" : "ENHANCE_YOUR_CALM", endsStream);
  }

  #begin(streamId: number, head: RequestHead, endsStream: boolean): void {
    // Content that was announced and does not come makes a request malformed (RFC 9113 8.1.1).
    if (endsStream && head.contentLength > 0) this.#refuse(streamId, "PROTOCOL_ERROR", true);
    else this.#owner.begins(streamId, head, endsStream);
  }

  /** Resets a request because of its headers. */
  #refuse(streamId: number, code: ErrorName, endsStream: boolean): void {
    this.#owner.countRefusal("headers");
    this.#owner.spend(1);
    this.#owner.sendReset(streamId, h2Error[code], endsStream);
    this.#countReset();
  }

  /** Ends a stream because of what the client has sent on it. */
  #abort(stream: Http2Stream, code: ErrorName): void {
    stream.abort(code);
    this.#countReset();
  }

  #refuseDependency(stream: Http2Stream | undefined): void {
    if (stream !== undefined) this.#abort(stream, "PROTOCOL_ERROR");
    else this.#owner.fail(h2Error.PROTOCOL_ERROR, "the stream depends on itself");
  }

  #endWithTrailers(stream: Http2Stream, list: HeaderList, endsStream: boolean): void {
    const code = endsStream && areTrailers(list) ? stream.receiveTrailers() : "PROTOCOL_ERROR";
    if (code !== undefined) this.#abort(stream, stream.hasRequestEnded ? "STREAM_CLOSED" : code);
  }

  #refuseData(streamId: number): void {
    if (streamId > this.#lastStreamId && !(this.#output.hasSentGoaway && (streamId & 1) === 1)) {
      this.#owner.fail(h2Error.PROTOCOL_ERROR, "DATA of a stream that was never opened");
      return;
    }
    if (streamId > this.#lastStreamId || this.#ended.has(streamId)) return;
    this.#owner.sendReset(streamId, h2Error.STREAM_CLOSED, true);
    this.#countReset();
  }

  #takeSettings(flags: number, payload: Buffer): void {
    if ((flags & frameFlag.ack) !== 0) {
      if (!this.#hasBegun()) return;
      if (this.#isSettingsAcked) this.#countControlFrame();
      this.#isSettingsAcked = true;
      this.#owner.onSettingsAck();
      return;
    }
    // Each client sends one.
    const isFlood = this.#hasSettings && this.#conduct.countSettings();
    this.#hasSettings = true;
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
    if (!this.#setWindow(windowBytes)) {
      this.#owner.fail(h2Error.FLOW_CONTROL_ERROR, "the window of a stream overflows");
      return;
    }
    if (isFlood) this.#owner.failByFlood();
    else this.#output.control(settingsAck, true);
  }

  /** False if that is more than a stream's window can have. */
  #setWindow(bytes: number): boolean {
    const change = bytes - this.#owner.peerWindowBytes;
    if (change === 0) return true;
    this.#owner.peerWindowBytes = bytes;
    this.#owner.spend(this.#owner.open.size / streamsPerWork);
    for (const stream of this.#owner.open.values()) if (!stream.widen(change)) return false;
    return true;
  }

  #takePing(flags: number, payload: Buffer): void {
    if ((flags & frameFlag.ack) === 0) {
      if (!this.#countControlFrame()) this.#output.control(pingFrame(payload, true), true);
    } else if (!this.#owner.onPingAck(payload)) this.#countControlFrame();
  }

  #takeWindowUpdate(streamId: number, bytes: number): void {
    if (streamId === 0) {
      if (bytes === 0) this.#owner.fail(h2Error.PROTOCOL_ERROR, "WINDOW_UPDATE of 0");
      else if (!this.#output.widen(bytes))
        this.#owner.fail(h2Error.FLOW_CONTROL_ERROR, "the window overflows");
      return;
    }
    const stream = this.#owner.open.get(streamId);
    if (stream === undefined) this.#checkClosed(streamId);
    else if (bytes === 0) this.#abort(stream, "PROTOCOL_ERROR");
    else if (!stream.widen(bytes)) this.#abort(stream, "FLOW_CONTROL_ERROR");
  }

  #takeReset(streamId: number): void {
    const stream = this.#owner.open.get(streamId);
    if (stream === undefined) {
      this.#checkClosed(streamId);
      return;
    }
    stream.close();
    this.#countReset();
  }

  /** A frame that a stream may get after its end, but not before its beginning. */
  #checkClosed(streamId: number): void {
    if (streamId <= this.#lastStreamId && (streamId & 1) === 1) return;
    if (this.#output.hasSentGoaway && (streamId & 1) === 1) return;
    this.#owner.fail(h2Error.PROTOCOL_ERROR, "a frame of a stream that was never opened");
  }

  /** True if there are too many of them. */
  #countControlFrame(): boolean {
    if (!this.#conduct.countControlFrame(this.#output.sentBytes)) return false;
    this.#owner.failByFlood();
    return true;
  }

  /** Counts a stream that the client has reset, or has made us reset. */
  #countReset(): void {
    if (this.#conduct.countReset()) this.#owner.fail(h2Error.ENHANCE_YOUR_CALM, "too many resets");
  }
}
