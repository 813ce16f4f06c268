import React, { useState as useCell, memo } from 'react';
import * as path from 'path';

/** What a panel shows. */
export interface Props {
  title: string;
  onClose(): void;
}

export type Side = 'left' | 'right';

export enum Mode {
  Open,
  Closed,
}

export const Panel = memo(({ title, onClose }: Props) => {
  const [open, setOpen] = useCell(true);
  const toggle = () => setOpen(!open);
  return (
    <div onClick={toggle}>
      {title}
    </div>
  );
});

@injectable()
export abstract class View<T> extends Base<T> implements Shown {
  private readonly size: number = 1;

  abstract render(): void;

  @memoize
  get area(): number {
    return this.size * 2;
  }

  draw(at: number, mode?: Mode): void {
    this.render();
  }
}

namespace Geometry {
  export function turn(a: number): number {
    return a;
  }
}

export default function () {
  return path.sep;
}
