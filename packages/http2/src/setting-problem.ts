import { h2Error, maxFrameBytes, maxWindowBytes, setting } from "./frames.js";

/** The error of a connection whose SETTINGS have an invalid value (RFC 9113 6.5.2); undefined for valid ones, and for unknown settings. */
export function settingProblem(id: number, value: number): number | undefined {
  switch (id) {
    case setting.enablePush:
      return value > 1 ? h2Error.PROTOCOL_ERROR : undefined;
    case setting.initialWindowSize:
      return value > maxWindowBytes ? h2Error.FLOW_CONTROL_ERROR : undefined;
    case setting.maxFrameSize:
      return value < maxFrameBytes || value > 2 ** 24 - 1 ? h2Error.PROTOCOL_ERROR : undefined;
    default:
      return undefined;
  }
}
