package shop

import shop.money.Amount
import shop.log.Logger as Log

/** A basket of goods. */
@Serializable
class Cart(val owner: String, private val log: Log = Log.none()) : Basket(owner), Priced {
    private val items = mutableListOf<Item>()

    constructor(owner: String, first: Item) : this(owner) {
        items.add(first)
    }

    /** What all items cost together. */
    override fun total(rate: Int, rounded: Boolean = true): Amount {
        val sum = items.sumOf { it.price * rate }
        return if (rounded) Amount.round(sum) else Amount(sum)
    }

    companion object {
        const val LIMIT = 100

        fun empty(): Cart = Cart("nobody")
    }
}

interface Priced {
    fun total(rate: Int, rounded: Boolean): Amount
}

enum class State { OPEN, PAID }

typealias Basketful = List<Item>

fun String.toOwner(prefix: String) = prefix + this

val defaultRate = 3
