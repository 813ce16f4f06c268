import type { Amount } from './amount';
import { round } from './round';

export interface Rate {
  from: string;
  value: number;
}

/** Converts an amount. */
export async function convert(amount: Amount, rate: Rate, rounded = true): Promise<number> {
  const sum = amount.value * rate.value;
  return rounded ? round(sum) : sum;
}

export abstract class Rates {
  private readonly known = new Map<string, Rate>();

  constructor(protected base: string) {}

  abstract load(): Promise<void>;

  find(name: string): Rate;
  find(name: string, strict: boolean): Rate | undefined;
  find(name: string, strict?: boolean): Rate | undefined {
    return this.known.get(name);
  }
}

declare function log(text: string): void;
