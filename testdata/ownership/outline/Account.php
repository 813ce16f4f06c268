<?php

namespace Bank\Core;

use Bank\Money\Amount;
use Bank\Log\{Writer, Reader as In};

/** Holds money. */
#[Entity]
final class Account extends Holder implements Owned
{
    use Audited;

    const LIMIT = 100;

    private $balance = 0;

    public function __construct(private string $owner)
    {
    }

    /** Takes money out. */
    public function withdraw(int $amount, string $note = "", ...$tags): int
    {
        $this->balance = $this->balance - $amount;
        self::log($note);
        return $this->balance;
    }

    private static function log(string $note): void
    {
        Writer::write($note);
    }
}

interface Owned
{
    public function owner(): string;
}

trait Audited
{
    public function audit(): void
    {
    }
}

enum State: string
{
    case Open = 'open';
}

function rounded($amount)
{
    return round($amount);
}

const RATE = 3;
