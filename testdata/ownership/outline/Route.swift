import Foundation

/// Where a request goes.
public class Route: Matcher, CustomStringConvertible {
    let pattern: String
    var description: String {
        return pattern
    }

    init(pattern: String) {
        self.pattern = pattern
    }

    /// Tells whether the path fits.
    @discardableResult
    func matches(_ path: String, at depth: Int = 0) -> Bool {
        let parts = path.split(separator: "/")
        return check(parts, depth)
    }

    enum Kind {
        case exact, prefix(Int)
    }
}

struct Request {
    static func empty() -> Request {
        return Request()
    }
}

extension Request: Equatable {
    func sameAs(_ other: Request) -> Bool {
        return self == other
    }
}

protocol Matcher {
    func matches(_ path: String, at depth: Int) -> Bool
}

typealias Handler = (Request) -> Void

func dispatch(_ request: Request) -> Int {
    return 0
}

let fallback = Route(pattern: "*")
