import { networkInterfaces } from "node:os";

/** Whether this machine has the loopback address of IPv6. */
const hasIpv6 = Object.values(networkInterfaces()).some((each) =>
  each?.some(({ address }) => address === "::1"),
);

/** A test that listens at ::1. */
export const itOnIpv6 = hasIpv6 ? it : it.skip;
