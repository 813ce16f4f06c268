package bank;

import java.util.List;
import static bank.Money.round;

/** Keeps entries. */
@Entity
public class Ledger<T> extends Book implements Audited, Closeable {
    private final List<T> entries;
    int count = 0, peak;

    static {
        register(Ledger.class);
    }

    Ledger(List<T> entries) {
        super("ledger");
        this.entries = entries;
    }

    /** Adds one entry. */
    @Override
    public int add(final T entry, String... notes) throws Full {
        this.count = count + 1;
        return round(entries.size());
    }

    public int add(T entry) {
        return add(entry, "");
    }

    enum State {
        OPEN, CLOSED(1);

        boolean isOpen() {
            return this == OPEN;
        }
    }

    record Page(int number, String title) {}

    interface Visitor {
        void visit(Page page);
    }
}
