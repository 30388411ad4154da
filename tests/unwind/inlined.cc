// A library with names to find: namespaces, templates, inlined frames, a static function without a symbol when stripped.
namespace shapes {

template <typename Number> struct Point {
    Number x, y;
    __attribute__((always_inline)) Number square() const
    {
        return x * x + y * y;
    }
};

struct Polygon {
    Point<double> points[4];
    double extent(int count) const;
};

__attribute__((always_inline)) static inline double longest(const Point<double> *points, int count)
{
    double best = 0;
    for (int index = 0; index < count; index++) {
        double size = points[index].square();
        if (size > best)
            best = size;
    }
    return best;
}

double Polygon::extent(int count) const
{
    double first = longest(points, count);
    return first + longest(points + 1, count - 1);
}

} // namespace shapes

__attribute__((noinline)) static int hidden(volatile int *value)
{
    for (int index = 0; index < 10; index++)
        *value += index;
    return *value;
}

extern "C" int plain_function(int value)
{
    volatile int local = value;
    return hidden(&local) + hidden(&local);
}
