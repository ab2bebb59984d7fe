import type { PeerAccount } from "./account.js";
import type { RefusalReason } from "./status.js";
import type { GrpcHeaderRules, TransportLimits } from "./transport.js";
import { FrameReader, type FrameSink } from "./frame-reader.js";
import { h2Error, frameFlag, frameType, windowUpdateFrame, type ErrorName } from "./frames.js";
import type { HeaderList } from "./hpack/header-decoder.js";
import type { Http2Stream } from "./http2-stream.js";
import { IncomingWindow } from "./incoming-window.js";
import { areTrailers, type RequestHead } from "./request-head.js";
import { RequestHeads } from "./request-heads.js";
import { SessionControl, type ControlOwner } from "./session-control.js";
import type { SessionReading } from "./session-reading.js";
import type { SessionOutput } from "./session-output.js";
import type { StreamIds } from "./stream-ids.js";

/** Frames that cost as much as a request. */
const framesPerWork = 64;
/** Bytes of a header block that cost as much as a request. */
const blockBytesPerWork = 8 * 1024;
/** Size of the preface, with which every HTTP/2 connection begins (RFC 9113 3.4). The sniffer has checked it. */
const prefaceBytes = 24;

export type SessionLimits = Pick<TransportLimits, "maxStreamsPerConnection" | "maxHeaderBytes">;

/** The session, as its input sees it. */
export interface InputOwner extends ControlOwner {
  readonly account: PeerAccount;
  readonly grpcHeaders: GrpcHeaderRules;
  readonly limits: SessionLimits;
  readonly ids: StreamIds;
  readonly reading: Pick<SessionReading, "hasEnough">;
  /** A valid request has arrived. */
  begins(streamId: number, head: RequestHead, hasEnded: boolean): void;
  sendReset(streamId: number, code: number, hasRequestEnded: boolean): void;
  countRefusal(reason: RefusalReason): void;
}

/**
 * The frames that the client of one connection sends, checked against RFC 9113 in the order of their arrival. A violation on a stream resets the
 * stream (`#abort`, `#refuse`) and counts against the client; one of the connection ends it (`fail`).
 */
export class SessionInput implements FrameSink {
  readonly #owner: InputOwner;
  readonly #output: SessionOutput;
  readonly #reader = new FrameReader(this);
  readonly #heads: RequestHeads;
  readonly #control: SessionControl;
  readonly #window = new IncomingWindow();
  #prefaceLeft = prefaceBytes;
  #frames = 0;
  #sweptFrames = 0;
  #headerSweeps = 0;

  constructor(owner: InputOwner, output: SessionOutput) {
    this.#owner = owner;
    this.#output = output;
    this.#control = new SessionControl(owner, output);
    this.#heads = new RequestHeads(owner.limits.maxHeaderBytes, owner.grpcHeaders.isGrpc);
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
    return this.#owner.reading.hasEnough;
  }

  /** Nothing is read any more. */
  stop(): void {
    this.#reader.stop();
  }

  /** Called once per sweep; returns for how many sweeps in a row the peer has been in the same header block. */
  countHeaderSweep(): number {
    const isSame = this.#reader.isInHeaders && this.#frames === this.#sweptFrames;
    this.#sweptFrames = this.#frames;
    this.#headerSweeps = isSame ? this.#headerSweeps + 1 : 0;
    return this.#headerSweeps;
  }

  onHeaders(streamId: number, flags: number, bytes: Buffer, start: number, end: number): void {
    if (!this.#admitFrame()) return;
    const endsStream = (flags & frameFlag.endStream) !== 0;
    const stream = this.#owner.open.get(streamId);
    const known = stream === undefined ? this.#heads.known(bytes, start, end) : undefined;
    if (known !== undefined) {
      if (this.#admitRequest(streamId)) this.#begin(streamId, known, endsStream);
      return;
    }
    this.#owner.spend((end - start) / blockBytesPerWork);
    const list = this.#heads.decode(bytes, start, end);
    if (list === undefined) this.#owner.fail(h2Error.COMPRESSION_ERROR, "the header block is invalid");
    else if (stream !== undefined) this.#endWithTrailers(stream, list, endsStream);
    else if (this.#admitRequest(streamId)) this.#open(streamId, list, endsStream, bytes.subarray(start, end));
  }

  onData(streamId: number, piece: Buffer, flowBytes: number, endsStream: boolean): void {
    if (!this.#admitFrame()) return;
    if (!this.#window.take(flowBytes)) {
      this.#owner.fail(h2Error.FLOW_CONTROL_ERROR, "more DATA than the window");
      return;
    }
    const stream = this.#owner.open.get(streamId);
    if (stream === undefined) this.#refuseData(streamId);
    else {
      const code = stream.receiveData(piece, flowBytes, endsStream);
      if (code !== undefined) this.#abort(stream, code);
    }
    // The connection's window is credited at once, even if this stream's data is not read: other streams must not wait for it.
    const openedBytes = this.#window.credit(flowBytes);
    if (openedBytes > 0) this.#output.control(windowUpdateFrame(0, openedBytes));
  }

  onFrame(type: number, flags: number, streamId: number, payload: Buffer): void {
    const isSettings = type === frameType.settings && (flags & frameFlag.ack) === 0;
    if (isSettings) this.#control.takeSettings(payload);
    if (isSettings || !this.#admitFrame()) return;
    switch (type) {
      case frameType.settings:
        this.#control.takeSettingsAck();
        break;
      case frameType.ping:
        this.#control.takePing(flags, payload);
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
    this.#admitFrame();
  }

  onBufferedChange(bytes: number): void {
    if (bytes > 0) this.#owner.account.charge(bytes);
    else this.#owner.account.release(-bytes);
  }

  onInvalid(code: number, reason: string): void {
    this.#owner.fail(code, reason);
  }

  /** Counts a frame. False, and the connection fails, if it comes before the client's SETTINGS. */
  #admitFrame(): boolean {
    if (++this.#frames % framesPerWork === 0) this.#owner.spend(1);
    if (this.#control.hasSettings) return true;
    this.#owner.fail(h2Error.PROTOCOL_ERROR, "SETTINGS must come first");
    return false;
  }

  /** True if headers may begin a request on this stream, which is then the newest. Otherwise they are ignored or refused, or the connection fails. */
  #admitRequest(streamId: number): boolean {
    if ((streamId & 1) === 0) {
      this.#owner.fail(h2Error.PROTOCOL_ERROR, "the stream has an even id");
      return false;
    }
    const { open, ids, limits } = this.#owner;
    if (streamId <= ids.newest) {
      // Trailers may still arrive for a stream that we have ended.
      if (!ids.isIgnored(streamId)) this.#owner.fail(h2Error.STREAM_CLOSED, "the stream has ended");
      return false;
    }
    // No answer is needed: GOAWAY tells the client to repeat the request elsewhere.
    if (this.#output.hasSentGoaway) return false;
    ids.newest = streamId;
    if (open.size < limits.maxStreamsPerConnection) return true;
    this.#owner.sendReset(streamId, h2Error.REFUSED_STREAM, false);
    this.#owner.spend(1);
    return false;
  }

  #open(streamId: number, list: HeaderList, endsStream: boolean, block: Buffer): void {
    const head = this.#heads.headOf(list, block);
    // A client that has acknowledged our SETTINGS knows the limit.
    const isTooLarge = list.bytes > this.#owner.limits.maxHeaderBytes && this.#control.isAcknowledged;
    if (head !== undefined && !isTooLarge) {
      this.#begin(streamId, head, endsStream);
      return;
    }
    this.#refuse(streamId, head === undefined ? "PROTOCOL_ERROR" : "ENHANCE_YOUR_CALM", endsStream);
  }

  #begin(streamId: number, head: RequestHead, endsStream: boolean): void {
    // A request that announces content and has none is malformed (RFC 9113 8.1.1).
    if (endsStream && head.contentLength > 0) this.#refuse(streamId, "PROTOCOL_ERROR", true);
    else this.#owner.begins(streamId, head, endsStream);
  }

  /** Resets a request because of its headers. */
  #refuse(streamId: number, code: ErrorName, endsStream: boolean): void {
    this.#owner.countRefusal("headers");
    this.#owner.spend(1);
    this.#owner.sendReset(streamId, h2Error[code], endsStream);
    this.#control.countReset();
  }

  /** Resets a stream because the client has violated HTTP/2 on it. */
  #abort(stream: Http2Stream, code: ErrorName): void {
    stream.abort(code);
    this.#control.countReset();
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
    const { ids } = this.#owner;
    const isNew = streamId > ids.newest;
    if (isNew && !(this.#output.hasSentGoaway && (streamId & 1) === 1)) {
      this.#owner.fail(h2Error.PROTOCOL_ERROR, "DATA of a stream that was never opened");
      return;
    }
    if (isNew || ids.isIgnored(streamId)) return;
    this.#owner.sendReset(streamId, h2Error.STREAM_CLOSED, true);
    this.#control.countReset();
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
    const { isAnswered } = stream;
    stream.close();
    // Clients that have their answer, such as Go's and Envoy, reset what they have not sent of a request.
    if (!isAnswered) this.#control.countReset();
  }

  /** Fails the connection if a stream that is not open was never opened. Frames on a stream that has ended are ignored. */
  #checkClosed(streamId: number): void {
    const mayBeKnown = streamId <= this.#owner.ids.newest || this.#output.hasSentGoaway;
    if (mayBeKnown && (streamId & 1) === 1) return;
    this.#owner.fail(h2Error.PROTOCOL_ERROR, "a frame of a stream that was never opened");
  }
}
