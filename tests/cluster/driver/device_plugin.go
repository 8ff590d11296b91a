package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	deviceplugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// A devicePlugin is one as most vendors have: it lists its devices once as healthy and gives
// containers a variable that names theirs. How often somebody listens to it is counted: some
// vendors' plugins serve one listener, and a second one takes its events.
type devicePlugin struct {
	deviceplugin.UnimplementedDevicePluginServer
	resource string
	ids      []string
}

func (d *devicePlugin) GetDevicePluginOptions(context.Context, *deviceplugin.Empty) (
	*deviceplugin.DevicePluginOptions, error) {
	return &deviceplugin.DevicePluginOptions{}, nil
}

func (d *devicePlugin) ListAndWatch(_ *deviceplugin.Empty,
	stream grpc.ServerStreamingServer[deviceplugin.ListAndWatchResponse]) error {
	fmt.Println("somebody listens to", d.resource)
	devices := make([]*deviceplugin.Device, len(d.ids))
	for i, id := range d.ids {
		devices[i] = &deviceplugin.Device{ID: id, Health: deviceplugin.Healthy}
	}
	if err := stream.Send(&deviceplugin.ListAndWatchResponse{Devices: devices}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (d *devicePlugin) Allocate(_ context.Context, request *deviceplugin.AllocateRequest) (
	*deviceplugin.AllocateResponse, error) {
	response := &deviceplugin.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		ids := strings.Join(container.DevicesIds, ",")
		fmt.Println("allocated", ids)
		response.ContainerResponses = append(response.ContainerResponses,
			&deviceplugin.ContainerAllocateResponse{Envs: map[string]string{"VISIBLE_DEVICES": ids}})
	}
	return response, nil
}

// servePlugin serves "RESOURCE=ID,ID" to the kubelet until it is asked to end.
func servePlugin(ctx context.Context, o options) error {
	resource, ids, found := strings.Cut(o.plugin, "=")
	if !found || ids == "" {
		return errors.New("--plugin wants RESOURCE=ID,ID, as example.com/gpu=GPU-0,GPU-1")
	}
	d := &devicePlugin{resource: resource, ids: strings.Split(ids, ",")}
	directory := filepath.Join(o.root, "device-plugins")
	name := strings.ReplaceAll(resource, "/", "_") + ".sock"
	listener, err := listenAnew(filepath.Join(directory, name))
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	deviceplugin.RegisterDevicePluginServer(server, d)
	context.AfterFunc(ctx, server.Stop)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	if err := d.register(ctx, directory, name); err != nil {
		return err
	}
	fmt.Println("the kubelet registered", resource)
	return <-served
}

func (d *devicePlugin) register(ctx context.Context, directory, name string) error {
	connection, err := grpc.NewClient("unix://"+filepath.Join(directory, "kubelet.sock"),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	within, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	_, err = deviceplugin.NewRegistrationClient(connection).Register(within,
		&deviceplugin.RegisterRequest{Version: deviceplugin.Version, Endpoint: name,
			ResourceName: d.resource})
	return err
}
