using System;
using Text = System.Text.StringBuilder;

namespace Shop.Core
{
    /// <summary>Keeps orders.</summary>
    [Serializable]
    public class Orders<T> : Base, IOrders
    {
        private int count = 0, peak;

        public int Count { get; private set; }

        public Orders(int size) : base(size)
        {
            this.count = size;
        }

        public async Task<int> Add(T order, string note = "", params int[] tags)
        {
            await Store.Save(order);
            return Bump(1);
        }

        int Bump(int by) => count += by;

        public int this[int index] => index;
    }

    interface IOrders
    {
        Task<int> Add(string order);
    }

    enum State { Open, Paid }

    record Line(int Number, string Text);

    delegate void Changed(int count);
}
