package shop

import scala.collection.mutable
import shop.model.{Item, Stock => Store}

/** Counts what is in store. */
@deprecated
class Inventory(val name: String, limit: Int = 10) extends Counter(name) with Priced {
  private var held = mutable.Map.empty[Item, Int]

  def add(item: Item)(implicit store: Store): Int = {
    val now = held.getOrElse(item, 0) + 1
    held.update(item, now)
    now
  }

  def price(item: Item): Int
}

object Inventory {
  val Empty = new Inventory("none")

  def of(items: Item*): Inventory = {
    val made = new Inventory("of")
    items.foreach(made.add)
    made
  }
}

trait Priced {
  def price(item: Item): Int
}

case class Label(text: String)
