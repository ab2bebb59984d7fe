/**
 * The end of fencing numbers: the year 2200, in microseconds. A larger one was not given out: other software wrote it, or what
 * answered in place of Redis made it up. To continue from it would leave no numbers for those who come later.
 */
export const endOfFences = 7_258_118_400_000_000;

/** Lua for scripts: the last fencing number that was given out, 0 if the key holds none. */
export const lastFence = `
local function lastFence(key)
  local given = redis.pcall('GET', key)
  local last = tonumber(type(given) == 'string' and given or '') or 0
  return last < ${endOfFences} and last or 0
end
`;
