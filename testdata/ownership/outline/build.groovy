package tools

import java.nio.file.Files

class Builder extends Base {
    String name = "build"

    @Override
    int run(String target, int jobs = 2) {
        def made = compile(target)
        return made + jobs
    }

    def compile(String target) {
        return target.size()
    }
}

def describe(builder) {
    return builder.name
}

def defaultJobs = 4
