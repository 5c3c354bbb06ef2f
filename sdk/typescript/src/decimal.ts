/** Compares two decimal numbers as text, as a score and a threshold are: negative, 0 or positive, as in a sort. */
export function compareDecimals(left: string, right: string): number {
  const [a, b] = [parse(left), parse(right)];
  const digits = Math.max(a.fraction.length, b.fraction.length);
  const difference = scale(a, digits) - scale(b, digits);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

interface Decimal {
  sign: bigint;
  whole: string;
  fraction: string;
}

function parse(text: string): Decimal {
  const match = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text);
  if (!match) throw new TypeError(`not a decimal number: ${JSON.stringify(text)}`);
  return { sign: match[1] ? -1n : 1n, whole: match[2] ?? "", fraction: match[3] ?? "" };
}

function scale({ sign, whole, fraction }: Decimal, digits: number): bigint {
  return sign * BigInt(whole + fraction.padEnd(digits, "0"));
}
