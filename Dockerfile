# syntax=docker/dockerfile:1
FROM swift:6.3-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends libpq-dev libnghttp2-dev libmaxminddb-dev libxml2-dev zlib1g-dev pkg-config uap-core && rm -rf /var/lib/apt/lists/*
WORKDIR /pushcart
COPY Package.swift ./
COPY Sources Sources
COPY Tests Tests
COPY sql sql
COPY Templates Templates
RUN swift build -c release --static-swift-stdlib -Xswiftc -cross-module-optimization -Xlinker -s --product pushcart \
    && install -D .build/release/pushcart /out/pushcart

FROM debian:bookworm-slim
RUN apt-get update \
    && apt-get install -y --no-install-recommends libpq5 libnghttp2-14 libmaxminddb0 libxml2 tzdata ca-certificates curl \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --system --no-create-home pushcart
COPY --from=build /out/pushcart /usr/local/bin/pushcart
USER pushcart
ENV PUSHCART_HOST=0.0.0.0 PUSHCART_LOG_FORMAT=json
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s CMD curl -fsS http://127.0.0.1:${PUSHCART_PORT:-8080}/readyz
ENTRYPOINT ["pushcart"]
CMD ["serve"]
